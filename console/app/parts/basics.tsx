/** The small parts that all pages are made of. */
import { type ComponentProps, type ReactNode, useEffect, useState } from "react";
import { ApiError } from "../api/http.ts";
import { ago } from "./format.ts";

type Tone = "accent" | "quiet" | "danger";

const BUTTONS: Readonly<Record<Tone, string>> = {
  accent: "bg-accent text-on-accent border-accent",
  quiet: "bg-card text-ink border-border hover:bg-raised",
  danger: "bg-card text-bad border-bad hover:bg-bad-ground",
};

export function Button({ tone = "quiet", ...rest }: ComponentProps<"button"> & { readonly tone?: Tone }) {
  return (
    <button
      type="button"
      {...rest}
      className={`rounded-md border px-3 py-1.5 text-sm font-medium disabled:opacity-60 ${BUTTONS[tone]}`}
    />
  );
}

export function Card({ children, ...rest }: ComponentProps<"section">) {
  return (
    <section {...rest} className="rounded-lg border border-line bg-card p-4">
      {children}
    </section>
  );
}

/** A part of a page with a title of its own. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Card>
      <h2 className="mb-3 font-semibold">{title}</h2>
      {children}
    </Card>
  );
}

/** The title of a page, and what can be done there. */
export function Title({ children, actions }: { readonly children: ReactNode; readonly actions?: ReactNode }) {
  return (
    <div className="mb-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
      <h1 className="min-w-0 text-2xl font-semibold tracking-tight break-words">{children}</h1>
      {actions ? <div className="flex flex-wrap gap-2">{actions}</div> : null}
    </div>
  );
}

const STATUS_TONES = new Map([
  ["COMPLETED", "text-good"],
  ["IN_PROGRESS", "text-busy"],
  ["IN_QUEUE", "text-wait"],
  ["FAILED", "text-bad"],
  ["TIMED_OUT", "text-bad"],
  ["CANCELLED", "text-quiet"],
]);

/** A state in words; the color only repeats it. */
export function Status({ of }: { readonly of: string }) {
  const words = of.replaceAll("_", " ").toLowerCase();
  return (
    <span
      className={`inline-flex items-center gap-1.5 font-medium whitespace-nowrap ${STATUS_TONES.get(of) ?? "text-quiet"}`}
    >
      <span aria-hidden className="size-2 rounded-full bg-current" />
      {words}
    </span>
  );
}

/** How long ago something was, with the exact time on hover and for screen readers. */
export function Ago({ at }: { readonly at: number | string | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <span>–</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()} className="whitespace-nowrap">
      {ago(date.getTime(), now)}
    </time>
  );
}

const TICK_MS = 5_000;

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** An error of the API as it says it, with its code. */
export function Problem({ error }: { readonly error: Error | null | undefined }) {
  if (!error) return null;
  const code = error instanceof ApiError ? error.code.toLowerCase() : undefined;
  return (
    <p role="alert" className="my-3 rounded-md border border-bad bg-bad-ground p-3 text-sm text-bad">
      {error.message}
      {code ? <code className="ml-2 font-mono text-xs">{code}</code> : null}
    </p>
  );
}

/** A page that has nothing to show but why. */
export function Failed({ title, error }: { readonly title: string; readonly error: Error }) {
  return (
    <>
      <Title>{title}</Title>
      <Problem error={error} />
    </>
  );
}

/** Stands where there is nothing yet, and says what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="rounded-lg border border-dashed border-border p-6">
      <h2 className="mb-1 font-semibold">{title}</h2>
      <div className="space-y-3 text-quiet">{children}</div>
    </div>
  );
}

export function Loading() {
  return (
    <p role="status" className="py-6 text-quiet">
      Loading …
    </p>
  );
}

/** A text to copy, with a button that does. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div className="flex flex-wrap items-start gap-2">
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="min-w-0 flex-1 overflow-x-auto rounded-md border border-line bg-raised p-3 font-mono text-xs text-ink"
      >
        {text}
      </pre>
      <Button onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>
        <span aria-live="polite">{isCopied ? "Copied" : "Copy"}</span>
      </Button>
    </div>
  );
}

/** How to install the commands `edgerun` and `flash` from this service, with Node or with Python. */
export function InstallCommands() {
  const { origin } = location;
  return (
    <div className="space-y-2">
      <Copyable text={`npm install -g ${origin}/packages/edgerun.tgz`} label="Installation with Node" />
      <Copyable
        text={`pip install -r ${origin}/packages/requirements.txt`}
        label="Installation with Python"
      />
    </div>
  );
}

export function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-quiet">{label}</dt>
      <dd className="m-0 text-lg font-semibold tabular-nums">{children}</dd>
    </div>
  );
}

export const inputClass =
  "w-full rounded-md border border-border bg-card px-3 py-1.5 text-ink placeholder:text-quiet";
