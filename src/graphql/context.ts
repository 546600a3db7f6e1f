import type { RequestContext } from "../management/context.ts";
import type { Loaders } from "./loaders.ts";

/** What resolvers get. */
export type GraphqlContext = RequestContext & { readonly loaders: Loaders };
