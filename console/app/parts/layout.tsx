import { useMutation } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call, SIGNED_IN_MARK } from "../api/http.ts";
import { Problem } from "./basics.tsx";
import { Palette } from "./palette.tsx";

/** Pages by what people come for. */
const GROUPS = [
  {
    title: "Run",
    pages: [
      { to: "/", title: "Overview" },
      { to: "/hosts", title: "Hosts" },
      { to: "/apps", title: "Apps" },
      { to: "/pods", title: "Pods" },
    ],
  },
  {
    title: "Set up",
    pages: [
      { to: "/templates", title: "Templates" },
      { to: "/volumes", title: "Volumes" },
      { to: "/secrets", title: "Secrets" },
      { to: "/registries", title: "Registries" },
      { to: "/webhooks", title: "Webhooks" },
    ],
  },
  {
    title: "Account",
    pages: [
      { to: "/usage", title: "Usage and cost" },
      { to: "/audit", title: "Audit log" },
      { to: "/access", title: "Keys and sign-ins" },
      { to: "/settings", title: "Settings" },
    ],
  },
] as const;

const PAGES = GROUPS.flatMap(
  ({ pages }): readonly { readonly to: string; readonly title: string }[] => pages,
);

export function Layout() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setMenuOpen(false), [pathname]);
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
            aria-expanded={isMenuOpen}
            aria-controls="pages"
            onClick={() => setMenuOpen(!isMenuOpen)}
            className="order-last rounded-md border border-line bg-raised px-3 py-0.5 text-sm md:hidden"
          >
            Menu
          </button>
          <button
            type="button"
            onClick={() => setPaletteOpen(true)}
            className="ml-auto rounded-md border border-line bg-raised px-2 py-0.5 text-xs whitespace-nowrap text-quiet"
            aria-keyshortcuts="Control+K Meta+K"
          >
            <span className="sr-only">Go to a page or an endpoint: </span>
            <kbd>Ctrl K</kbd>
          </button>
        </div>
        <Pages isOpen={isMenuOpen} />
      </header>
      <main id="main" tabIndex={-1} className="mx-auto w-full max-w-6xl min-w-0 p-4 outline-none md:p-6">
        <Outlet />
      </main>
      {isPaletteOpen ? <Palette pages={PAGES} onClose={() => setPaletteOpen(false)} /> : null}
    </div>
  );
}

const PAGE_LINK =
  "block rounded-md px-2 py-1 text-left text-sm whitespace-nowrap text-quiet hover:bg-raised hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-semibold aria-[current=page]:text-ink";

/** Always there beside a page; on a small screen above it, when it is opened. */
function Pages({ isOpen }: { readonly isOpen: boolean }) {
  return (
    <nav
      id="pages"
      aria-label="Pages"
      className={`${isOpen ? "grid" : "hidden"} mt-2 grid-cols-2 gap-x-2 gap-y-3 md:mt-0 md:flex md:flex-1 md:flex-col md:overflow-y-auto`}
    >
      {GROUPS.map(({ title, pages }) => (
        <div key={title}>
          <h2 className="px-2 pb-1 text-xs text-quiet">{title}</h2>
          {pages.map((page) => (
            <Link key={page.to} to={page.to} activeOptions={{ exact: page.to === "/" }} className={PAGE_LINK}>
              {page.title}
            </Link>
          ))}
        </div>
      ))}
      <div className="md:mt-auto">
        <a href="/docs" className={PAGE_LINK}>
          Docs
        </a>
        <SignOut />
      </div>
    </nav>
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
    <>
      <button type="button" disabled={isPending} onClick={() => mutate()} className={PAGE_LINK}>
        Sign out
      </button>
      <Problem error={error} />
    </>
  );
}
