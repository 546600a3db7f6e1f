/** Goes to a page or an endpoint by typing a part of its name. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { overviewQuery } from "../api/queries.ts";
import { inputClass } from "./basics.tsx";

type Page = { readonly to: string; readonly title: string };

const SHOWN_MAX = 12;
const STEPS = new Map([
  ["ArrowDown", 1],
  ["ArrowUp", -1],
]);

export function Palette({
  pages,
  onClose,
}: {
  readonly pages: readonly Page[];
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const navigate = useNavigate();
  const found = useTargets(pages, text);
  useEffect(() => dialog.current?.showModal(), []);

  const go = (page: Page | undefined): void => {
    if (!page) return;
    onClose();
    void navigate({ to: page.to });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS.get(event.key);
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") go(found[chosen]);
  };
  return (
    <dialog
      ref={dialog}
      aria-label="Go to"
      onClose={onClose}
      className="m-auto mt-[12vh] w-[min(32rem,92vw)] rounded-lg border border-line bg-card p-3 text-ink"
    >
      <input
        autoFocus
        role="combobox"
        aria-label="Page or endpoint"
        aria-expanded
        aria-controls="palette-list"
        aria-activedescendant={found[chosen] ? `palette-${chosen}` : undefined}
        placeholder="Page or endpoint"
        className={inputClass}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found" className="mt-2 p-0">
        {found.map((page, index) => (
          <li
            key={page.to}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => go(page)}
            className="cursor-pointer list-none truncate rounded-md px-3 py-1.5 hover:bg-raised aria-selected:bg-raised"
          >
            {page.title}
          </li>
        ))}
      </ul>
    </dialog>
  );
}

function useTargets(pages: readonly Page[], text: string): readonly Page[] {
  const { data } = useQuery({ ...overviewQuery, refetchInterval: false });
  const endpoints = (data?.endpoints ?? []).flatMap((endpoint) =>
    endpoint ? [{ to: `/endpoints/${endpoint.id}`, title: `${endpoint.name} (${endpoint.id})` }] : [],
  );
  const asked = text.trim().toLowerCase();
  return [...pages, ...endpoints]
    .filter(({ title }) => title.toLowerCase().includes(asked))
    .slice(0, SHOWN_MAX);
}
