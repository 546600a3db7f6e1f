/** Fields of a form by their name, each with its label. */
import { type ComponentProps, type ReactNode, useState } from "react";
import { Button, inputClass, Problem } from "./basics.tsx";

export type Option = { readonly value: string; readonly title: string };

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
  const area = (name: keyof Values & string, label: string, hint?: string) => (
    <Field name={name} label={label} {...(hint !== undefined && { hint })}>
      <textarea
        id={name}
        rows={4}
        spellCheck={false}
        className={`${inputClass} font-mono text-sm`}
        value={values[name]}
        onChange={(event) => set(name, event.target.value)}
      />
    </Field>
  );
  const choice = (name: keyof Values & string, label: string, options: readonly Option[]) => (
    <Field name={name} label={label}>
      <select
        id={name}
        className={inputClass}
        value={values[name]}
        onChange={(event) => set(name, event.target.value)}
      >
        {options.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </Field>
  );
  return { values, set, field, area, choice, reset: () => setValues(fresh) };
}

/** A form with its button, and what the API says against it. */
export function Form(props: {
  readonly title?: string;
  readonly label: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
  /** Beside the button. */
  readonly notice?: string | undefined;
}) {
  return (
    <form
      className="mt-6 max-w-xl space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSubmit();
      }}
    >
      {props.title ? <h2 className="text-lg font-semibold">{props.title}</h2> : null}
      {props.children}
      <Button type="submit" tone="accent" disabled={props.isPending}>
        {props.label}
      </Button>
      <span role="status" className="ml-3 text-sm text-good">
        {props.notice}
      </span>
      <Problem error={props.error} />
    </form>
  );
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
