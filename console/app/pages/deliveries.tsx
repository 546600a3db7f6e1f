import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import { jobPath, webhookQuery } from "../api/queries.ts";
import { Ago, Button, Problem, Section } from "../parts/basics.tsx";
import { duration } from "../parts/format.ts";

type Props = { readonly endpointId: string; readonly jobId: string };

/** The calls of a job's webhook; nothing for a job without one. */
export function Deliveries({ endpointId, jobId }: Props) {
  const { data } = useQuery(webhookQuery(endpointId, jobId));
  if (!data || data.webhook === null) return null;
  const { webhook, state, attempts, nextAttemptAt } = data;
  return (
    <Section title="Webhook">
      <p className="mb-2 text-sm break-all">
        <code>{webhook}</code> <span className="text-quiet">{state}</span>
        {nextAttemptAt === undefined ? null : (
          <span className="text-quiet">
            , next call <Ago at={nextAttemptAt} />
          </span>
        )}
      </p>
      <ol aria-label="Calls of the webhook" className="m-0 mb-3 list-none space-y-1 p-0 text-sm">
        {attempts.map(({ at, durationMs, statusCode, error }) => (
          <li key={at} className="flex flex-wrap gap-x-3">
            <Ago at={at} />
            <span className={error === undefined ? "text-good" : "text-bad"}>
              {statusCode ?? "no answer"}
            </span>
            <span className="text-quiet">{duration(durationMs)}</span>
            <span className="min-w-0 break-words">{error}</span>
          </li>
        ))}
      </ol>
      <Redelivery endpointId={endpointId} jobId={jobId} />
    </Section>
  );
}

function Redelivery({ endpointId, jobId }: Props) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      call(`${jobPath(endpointId, "webhooks", jobId)}/redeliver`, { method: "POST", body: {} }),
    onSuccess: () => cache.invalidateQueries(webhookQuery(endpointId, jobId)),
  });
  return (
    <>
      <Button disabled={isPending} onClick={() => mutate()}>
        Send it again
      </Button>
      <Problem error={error} />
    </>
  );
}
