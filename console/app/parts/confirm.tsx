/** A button for what cannot be undone: it says what will happen, asks once more, and shows why it was refused. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Button, Problem } from "./basics.tsx";

type Question = {
  readonly label: string;
  readonly title: string;
  readonly explanation: string;
  /** With all that the page reads anew afterwards. */
  readonly action: () => Promise<unknown>;
};

export function ConfirmButton(question: Question) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button tone="danger" onClick={() => setOpen(true)}>
        {question.label}
      </Button>
      {isOpen ? <Confirmation {...question} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function Confirmation(props: Question & { readonly onClose: () => void }) {
  const { label, title, explanation, action, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const { mutate, isPending, error } = useMutation({ mutationFn: () => action(), onSuccess: onClose });
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={onClose}
      className="m-auto w-[min(28rem,92vw)] rounded-lg border border-line bg-card p-5 whitespace-normal text-ink"
    >
      <h2 className="mb-2 text-lg font-semibold break-words">{title}</h2>
      <p className="mb-4 text-quiet">{explanation}</p>
      <Problem error={error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button tone="danger" disabled={isPending} onClick={() => mutate()}>
          {label}
        </Button>
      </div>
    </dialog>
  );
}
