/** Programs to copy, one of which is shown. */
import { useState } from "react";
import { Copyable } from "./basics.tsx";
import type { Program } from "./programs.ts";

export function ClientCode({ programs }: { readonly programs: readonly Program[] }) {
  const [chosen, setChosen] = useState(programs[0]?.name);
  const shown = programs.find(({ name }) => name === chosen);
  return (
    <>
      <div role="group" aria-label="Language" className="mb-2 flex gap-1">
        {programs.map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === chosen}
            onClick={() => setChosen(name)}
            className="rounded-full border border-line px-3 py-0.5 text-sm text-quiet hover:bg-raised aria-pressed:border-accent aria-pressed:text-ink"
          >
            {name}
          </button>
        ))}
      </div>
      {shown ? <Copyable key={shown.code} text={shown.code} label={`${shown.name} code`} /> : null}
    </>
  );
}
