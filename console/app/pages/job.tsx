import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { JobView, TimelineEvent } from "../../../src/contract/job.ts";
import { call } from "../api/http.ts";
import { hasEnded, jobPath, jobQuery, logsQuery } from "../api/queries.ts";
import { Ago, Button, Failed, Figure, Loading, Problem, Section, Status, Title } from "../parts/basics.tsx";
import { ClientCode } from "../parts/client-code.tsx";
import { statusCode } from "../parts/programs.ts";
import { dollars, duration, readError } from "../parts/format.ts";
import { LogLines } from "../parts/log-lines.tsx";
import { ValueView } from "../parts/value-view.tsx";
import { Waterfall } from "../parts/waterfall.tsx";
import { Deliveries } from "./deliveries.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/jobs/$jobId");

export function JobPage() {
  const { endpointId, jobId } = route.useParams();
  const { data: job, error, dataUpdatedAt } = useQuery(jobQuery(endpointId, jobId));
  if (!job) return error ? <Failed title="Job" error={error} /> : <Loading />;
  const { timeline = [], coldStart } = job;
  return (
    <>
      <p className="mb-1 text-sm">
        <Link to="/endpoints/$endpointId" params={{ endpointId }} className="text-accent hover:underline">
          Jobs of {endpointId}
        </Link>
      </p>
      <Title actions={<Actions endpointId={endpointId} job={job} />}>
        <span className="font-mono text-lg">{jobId}</span>
      </Title>
      <Problem error={error} />
      <dl className="mb-4 grid grid-cols-2 gap-4 rounded-lg border border-line bg-card p-4 sm:grid-cols-3 lg:grid-cols-5">
        <Figure label="Status">
          <Status of={job.status} />
        </Figure>
        <Figure label="Waited">{duration(job.delayTime)}</Figure>
        <Figure label="Ran">{duration(job.executionTime)}</Figure>
        <Figure label="Attempts">{(job.retries ?? 0) + 1}</Figure>
        <Figure label="Cost">{dollars(job.cost?.total)}</Figure>
      </dl>
      {job.queue ? (
        <p className="mb-4 rounded-md bg-wait-ground p-3 text-sm">
          Number {job.queue.position} in the queue: {job.queue.detail}
        </p>
      ) : null}
      <div className="space-y-4">
        {job.error ? (
          <Section title="Error">
            <ErrorView error={job.error} />
          </Section>
        ) : null}
        {job.output === undefined || job.output === null ? null : (
          <Section title={hasEnded(job.status) ? "Output" : "Progress"}>
            <ValueView value={job.output} label="Output" />
          </Section>
        )}
        <Section title="Timeline">
          <Waterfall events={timeline} now={dataUpdatedAt} />
          {coldStart ? (
            <p className="mt-3 text-sm text-quiet">
              The worker started in {duration(coldStart.totalMs)}, longest: {coldStart.slowest}.{" "}
              {coldStart.advice}
            </p>
          ) : null}
          <Events events={timeline} />
        </Section>
        <JobLogs endpointId={endpointId} jobId={jobId} />
        {hasEnded(job.status) ? <Deliveries endpointId={endpointId} jobId={jobId} /> : null}
        <Section title="The same from a program">
          <ClientCode programs={statusCode(location.origin, endpointId, jobId)} />
        </Section>
      </div>
    </>
  );
}

/** The last line of a traceback, which says what went wrong, stands first. */
function ErrorView({ error }: { readonly error: string }) {
  const { message, traceback } = readError(error);
  return (
    <>
      <p className="mb-3 font-medium break-words text-bad">{message}</p>
      {traceback === message ? null : <ValueView value={traceback} label="Traceback" />}
    </>
  );
}

function Actions({ endpointId, job }: { readonly endpointId: string; readonly job: JobView }) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: (operation: "retry" | "cancel") =>
      call(jobPath(endpointId, operation, job.id), { method: "POST", body: {} }),
    onSuccess: () => cache.invalidateQueries(jobQuery(endpointId, job.id)),
  });
  const isRetryable = job.status === "FAILED" || job.status === "TIMED_OUT";
  return (
    <>
      {isRetryable ? (
        <Button disabled={isPending} onClick={() => mutate("retry")}>
          Retry
        </Button>
      ) : null}
      {hasEnded(job.status) ? null : (
        <Button tone="danger" disabled={isPending} onClick={() => mutate("cancel")}>
          Cancel the job
        </Button>
      )}
      <Problem error={error} />
    </>
  );
}

function Events({ events }: { readonly events: readonly TimelineEvent[] }) {
  return (
    <details className="mt-3 text-sm">
      <summary className="cursor-pointer text-quiet">All {events.length} events</summary>
      <ol className="mt-2 list-none space-y-1 p-0">
        {events.map(({ event, at, workerId, status, reason }, index) => (
          <li key={index} className="flex flex-wrap gap-x-3">
            <span className="font-medium">{event.replaceAll("_", " ")}</span>
            <Ago at={at} />
            <span className="text-quiet">{[status, workerId, reason].filter(Boolean).join(", ")}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function JobLogs({ endpointId, jobId }: { readonly endpointId: string; readonly jobId: string }) {
  const { data, error } = useQuery(logsQuery(endpointId, { jobId }));
  return (
    <Section title="Logs">
      <Problem error={error} />
      {data && data.lines.length > 0 ? <LogLines lines={data.lines} /> : null}
      {data && data.lines.length === 0 ? <p className="text-quiet">It has printed nothing yet.</p> : null}
    </Section>
  );
}
