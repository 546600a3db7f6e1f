/** A button for what cannot be undone: it says what will happen, and asks once more. */
import { useEffect, useRef, useState } from "react";
import { Button } from "./basics.tsx";

type Question = {
  readonly label: string;
  readonly title: string;
  readonly explanation: string;
  readonly onConfirm: () => void;
};

export function ConfirmButton({ isPending, ...question }: Question & { readonly isPending: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button tone="danger" disabled={isPending} onClick={() => setOpen(true)}>
        {question.label}
      </Button>
      {isOpen ? <Confirmation {...question} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function Confirmation(props: Question & { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-label={props.title}
      onClose={props.onClose}
      className="m-auto w-[min(28rem,92vw)] rounded-lg border border-line bg-card p-5 whitespace-normal text-ink"
    >
      <h2 className="mb-2 text-lg font-semibold break-words">{props.title}</h2>
      <p className="mb-4 text-quiet">{props.explanation}</p>
      <form method="dialog" className="flex justify-end gap-2">
        <Button type="submit">Keep it</Button>
        <Button type="submit" tone="danger" onClick={props.onConfirm}>
          {props.label}
        </Button>
      </form>
    </dialog>
  );
}
