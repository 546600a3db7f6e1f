/** The few calls of the management API that a start needs. */

const REQUEST_LIMIT_MS = 30_000;

export type ManagementApi = {
  /** Sends one document; returns its `data`, throws with the server's message when it reports an error. */
  query<Data>(document: string, variables?: Readonly<Record<string, unknown>>): Promise<Data>;
};

type Reply<Data> = { data?: Data | null; errors?: readonly { message: string }[] };

export function managementApi(url: string, apiKey: string): ManagementApi {
  return {
    async query<Data>(document: string, variables: Readonly<Record<string, unknown>> = {}): Promise<Data> {
      const response = await fetch(`${url}/graphql`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ query: document, variables }),
        signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
      });
      const text = await response.text();
      const reply = parse<Data>(text);
      if (reply?.errors) throw new Error(reply.errors.map(({ message }) => message).join("; "));
      if (!response.ok || !reply?.data) {
        throw new Error(`the management API answered ${response.status}: ${text.slice(0, 500)}`);
      }
      return reply.data;
    },
  };
}

function parse<Data>(text: string): Reply<Data> | undefined {
  try {
    return JSON.parse(text) as Reply<Data>;
  } catch {
    return undefined;
  }
}

/** A token with which one host may join. */
export async function createJoinToken(api: ManagementApi, name: string): Promise<string> {
  const { joinTokenCreate } = await api.query<{ joinTokenCreate: { token: string } }>(
    "mutation JoinToken($name: String) { joinTokenCreate(input: { name: $name }) { token expiresAt } }",
    { name },
  );
  return joinTokenCreate.token;
}

type Environments = {
  myself: { flashApps: { flashEnvironments: { id: string; leaseExpiresAt: string | null }[] }[] };
};

/** Ends every live session, with its endpoints and their jobs. */
export async function endSessions(api: ManagementApi): Promise<void> {
  const { myself } = await api.query<Environments>(
    "{ myself { flashApps { flashEnvironments { id leaseExpiresAt } } } }",
  );
  const sessions = myself.flashApps
    .flatMap(({ flashEnvironments }) => flashEnvironments)
    .filter(({ leaseExpiresAt }) => leaseExpiresAt !== null);
  const ended = sessions.map(({ id }) =>
    api.query("mutation ($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }", { id }),
  );
  // The maintenance of the edge may have removed it already; and each ends with its lease.
  await Promise.allSettled(ended);
}
