import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call, SIGNED_IN_MARK } from "../api/http.ts";
import { Button, InstallCommands, inputClass, Problem } from "../parts/basics.tsx";

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { next = "/" } = route.useSearch();
  const [key, setKey] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: (given: { readonly key: string } | { readonly link: string }) =>
      call("/console/sign-in", { method: "POST", body: given }),
    // The page is loaded again, so that nothing of another sign-in stays.
    onSuccess: () => {
      localStorage.setItem(SIGNED_IN_MARK, "1");
      location.assign(next);
    },
  });
  const [link] = useState(takeLink);
  useEffect(() => {
    if (link) mutate({ link });
  }, [link, mutate]);
  return (
    <main className="mx-auto max-w-md p-6 pt-[12vh]">
      <h1 className="mb-1 text-2xl font-semibold">Edgerun</h1>
      <p className="mb-6 text-quiet">Serverless GPU jobs on your own hosts.</p>
      <form
        className="space-y-3 rounded-lg border border-line bg-card p-5"
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ key: key.trim() });
        }}
      >
        <label className="block font-medium" htmlFor="key">
          API key
        </label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          placeholder="er_…"
          className={inputClass}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <p className="text-sm text-quiet">
          It is exchanged for a cookie that no script can read, has the rights of the key, and ends after 7
          days. The key itself is not kept.
        </p>
        <Button type="submit" tone="accent" disabled={isPending}>
          {isPending ? "Signing in …" : "Sign in"}
        </Button>
        <Problem error={error} />
      </form>
      <p className="mt-4 text-sm text-quiet">
        <code>npm start</code> prints a link that signs in without a key. Without an account here, read{" "}
        <a className="text-accent underline" href="/docs">
          the API documentation
        </a>
        .
      </p>
      <h2 className="mt-8 mb-2 text-sm font-medium">Commands in the version of this service</h2>
      <InstallCommands />
    </main>
  );
}

/** The code of a link stands in the fragment; it works once, and leaves the address at once. */
function takeLink(): string | undefined {
  const code = location.hash.slice(1);
  if (!code.startsWith("erk_")) return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}
