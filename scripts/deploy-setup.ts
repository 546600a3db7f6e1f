/** What must exist on Cloudflare before the first deployment, derived from the bindings in wrangler.toml. */

/** The tables of wrangler.toml that name something to be created beforehand. */
export type BoundResources = {
  readonly d1_databases?: readonly { readonly database_name?: string | undefined }[];
  readonly r2_buckets?: readonly { readonly bucket_name?: string | undefined }[];
};

/** Commands that create what wrangler.toml binds; `wrangler deploy` creates everything else. */
export function creatingCommands({ d1_databases = [], r2_buckets = [] }: BoundResources): readonly string[] {
  const databases = unique(d1_databases.map((database) => database.database_name));
  const buckets = unique(r2_buckets.map((bucket) => bucket.bucket_name));
  return [
    ...databases.map((name) => `npx wrangler d1 create ${name}`),
    ...buckets.map((name) => `npx wrangler r2 bucket create ${name}`),
  ];
}

function unique(names: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(names.filter((name) => name !== undefined))];
}
