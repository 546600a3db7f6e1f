import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError, call } from "../api/http.ts";
import { Button, inputClass, Problem } from "../parts/basics.tsx";
import { ClientCode } from "../parts/client-code.tsx";
import { runCode } from "../parts/programs.ts";

const route = getRouteApi("/signed-in/endpoints/$endpointId/run");
const EXAMPLE = '{\n  "name": "you"\n}';

export function RunTab() {
  const { endpointId } = route.useParams();
  const [text, setText] = useState(EXAMPLE);
  const navigate = useNavigate();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      call<{ readonly id: string }>(`/v2/${encodeURIComponent(endpointId)}/run`, {
        method: "POST",
        body: { input: readInput(text) },
      }),
    onSuccess: ({ id }) =>
      navigate({ to: "/endpoints/$endpointId/jobs/$jobId", params: { endpointId, jobId: id } }),
  });
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <form
        className="min-w-0 space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          mutate();
        }}
      >
        <label htmlFor="input" className="block font-medium">
          Input, as JSON
        </label>
        <textarea
          id="input"
          rows={12}
          spellCheck={false}
          className={`${inputClass} font-mono text-sm`}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" tone="accent" disabled={isPending}>
          {isPending ? "Submitting …" : "Run"}
        </Button>
        <Problem error={error} />
      </form>
      <div className="min-w-0 space-y-3">
        <h2 className="font-medium">The same from a program</h2>
        <ClientCode programs={runCode(location.origin, endpointId, text)} />
      </div>
    </div>
  );
}

function readInput(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ApiError(
      `This is no JSON: ${error instanceof Error ? error.message : ""}`,
      "invalid_input",
      400,
    );
  }
}
