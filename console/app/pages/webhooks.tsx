import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { query } from "../api/graphql.ts";
import { ROTATE_WEBHOOK_SECRET } from "../api/operations.ts";
import { webhookSecretQuery } from "../api/queries.ts";
import { Ago, Button, Card, Copyable, Loading, Problem, Title } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";

export function WebhooksPage() {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <Title>Webhooks</Title>
      <div className="max-w-3xl space-y-4">
        <p className="text-quiet">
          A job that is submitted with a <code>webhook</code> calls that address when it has ended. The page
          of the job lists the calls with what the receiver answered, and sends them again.
        </p>
        <Card>
          <h2 className="mb-1 font-semibold">Signing secret</h2>
          <p className="mb-3 text-sm text-quiet">
            Calls are signed as Standard Webhooks specifies. Receivers verify them with this secret of the
            account; whoever has it can sign.
          </p>
          {isShown ? <Secret /> : <Button onClick={() => setShown(true)}>Show the secret</Button>}
        </Card>
        <Card>
          <h2 className="mb-3 font-semibold">A receiver</h2>
          <Copyable text={RECEIVER} label="A receiver in JavaScript" />
        </Card>
      </div>
    </>
  );
}

/** Read only when somebody wants to see it. */
function Secret() {
  const cache = useQueryClient();
  const { data, error, isPending } = useQuery(webhookSecretQuery);
  if (isPending) return <Loading />;
  if (!data) return error ? <Problem error={error} /> : <p>Only a key that may write sees the secret.</p>;
  return (
    <div className="space-y-3">
      <Copyable text={data.secret ?? ""} label="Signing secret" />
      <p className="text-sm text-quiet">
        Made <Ago at={data.createdAt} />
        {data.previousValidUntil ? (
          <>
            ; the one before signs as well until <Ago at={data.previousValidUntil} />
          </>
        ) : null}
        .
      </p>
      <ConfirmButton
        label="Make a new one"
        title="Make a new signing secret?"
        explanation="For 24 hours calls carry the signatures of both. After that, receivers that still have the old one refuse them."
        action={async () => {
          await query(ROTATE_WEBHOOK_SECRET, {});
          await cache.invalidateQueries(webhookSecretQuery);
        }}
      />
    </div>
  );
}

const RECEIVER = `import { Webhook } from "standardwebhooks";

export function verify(secret, rawBody, headers) {
  // rawBody: the bytes as received, before any parsing. Throws if the signature does not match.
  return new Webhook(secret).verify(rawBody, headers);
}`;
