/** Fields of a form by their name, each with its label. */
import { type ComponentProps, type ReactNode, useState } from "react";
import { inputClass } from "./basics.tsx";

type InputProps = Omit<ComponentProps<"input">, "id" | "value" | "onChange">;

export function useFields<Values extends Readonly<Record<string, string>>>(fresh: Values) {
  const [values, setValues] = useState(fresh);
  const set = (name: keyof Values & string, value: string): void => setValues({ ...values, [name]: value });
  const field = (name: keyof Values & string, label: string, props: InputProps = {}) => (
    <Field name={name} label={label}>
      <input
        {...props}
        id={name}
        className={inputClass}
        value={values[name]}
        onChange={(event) => set(name, event.target.value)}
      />
    </Field>
  );
  return { values, set, field, reset: () => setValues(fresh) };
}

export function Field(props: {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly children: ReactNode;
}) {
  return (
    <div>
      <label htmlFor={props.name} className="mb-1 block font-medium">
        {props.label}
      </label>
      {props.children}
      {props.hint ? <p className="mt-1 text-sm text-quiet">{props.hint}</p> : null}
    </div>
  );
}
