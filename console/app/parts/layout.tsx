import { useMutation } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call, SIGNED_IN_MARK } from "../api/http.ts";
import { Problem } from "./basics.tsx";
import { Palette } from "./palette.tsx";

const PAGES = [
  { to: "/", title: "Overview" },
  { to: "/hosts", title: "Hosts" },
  { to: "/apps", title: "Apps" },
  { to: "/pods", title: "Pods" },
  { to: "/secrets", title: "Secrets" },
  { to: "/usage", title: "Usage and cost" },
  { to: "/audit", title: "Audit log" },
  { to: "/access", title: "Keys and sign-ins" },
] as const;

export function Layout() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="absolute left-2 top-2 z-20 -translate-y-20 rounded bg-accent px-3 py-1 text-on-accent focus:translate-y-0"
      >
        Skip to the page
      </a>
      <header className="border-b border-line bg-card p-3 md:sticky md:top-0 md:flex md:h-dvh md:flex-col md:border-r md:border-b-0 md:p-4">
        <div className="flex items-center justify-between gap-3 md:mb-4">
          <Link to="/" className="text-lg font-bold tracking-tight text-accent">
            Edgerun
          </Link>
          <button
            type="button"
            onClick={() => setPaletteOpen(true)}
            className="rounded-md border border-line bg-raised px-2 py-0.5 text-xs whitespace-nowrap text-quiet"
            aria-keyshortcuts="Control+K Meta+K"
          >
            <span className="sr-only">Go to a page or an endpoint: </span>
            <kbd>Ctrl K</kbd>
          </button>
        </div>
        <nav aria-label="Pages" className="mt-2 flex gap-1 overflow-x-auto md:mt-0 md:flex-1 md:flex-col">
          {PAGES.map(({ to, title }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === "/" }}
              className="rounded-md px-2 py-1 text-sm whitespace-nowrap text-quiet hover:bg-raised hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-semibold aria-[current=page]:text-ink"
            >
              {title}
            </Link>
          ))}
          <a href="/docs" className="rounded-md px-2 py-1 text-sm text-quiet hover:bg-raised hover:text-ink">
            Docs
          </a>
          <SignOut />
        </nav>
      </header>
      <main id="main" tabIndex={-1} className="mx-auto w-full max-w-6xl min-w-0 p-4 outline-none md:p-6">
        <Outlet />
      </main>
      {isPaletteOpen ? <Palette pages={PAGES} onClose={() => setPaletteOpen(false)} /> : null}
    </div>
  );
}

function SignOut() {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call("/console/sign-out", { method: "POST", body: {} }),
    // What this browser has read is forgotten with the page.
    onSuccess: () => {
      localStorage.removeItem(SIGNED_IN_MARK);
      location.assign("/sign-in");
    },
  });
  return (
    <div className="md:mt-auto">
      <button
        type="button"
        disabled={isPending}
        onClick={() => mutate()}
        className="rounded-md px-2 py-1 text-sm whitespace-nowrap text-quiet hover:bg-raised hover:text-ink"
      >
        Sign out
      </button>
      <Problem error={error} />
    </div>
  );
}
