import { auditSelectionSchema, readAuditLog } from "../../management/accounts/audit-log.ts";
import { withInput } from "../context.ts";

export const auditSdl = /* GraphQL */ `
  type User {
    "Changes with their author and time, the newest first. Stored for 400 days."
    auditLog(input: AuditLogInput): [AuditEntry!]
  }

  "Omitted members do not filter."
  input AuditLogInput {
    "1 to 200; 50 by default."
    limit: Int
    "The id of an entry: only older ones. The last entry's id gives the next page."
    before: ID
    subjectId: String
    "account, api_key, cluster, endpoint, flash_app, flash_auth_request, flash_build, flash_environment, flash_upload, host, join_token, network_volume, pod, registry_auth, secret, template, webhook_secret or worker."
    subjectKind: String
    "The name of a mutation, method and path of a REST call, either with ': taken back', or 'end of a lease'."
    operation: String
    apiKeyId: ID
  }

  type AuditEntry {
    id: ID!
    at: DateTime!
    "The key that made the change, 'pod:<id>' for that of a pod; empty at the end of a lease, which has no caller."
    apiKeyId: ID!
    "Null once the key is no longer listed."
    apiKeyName: String
    operation: String!
    subjectKind: String!
    subjectId: String!
    subjectName: String
    "Names of what was changed, never values."
    fields: [String!]!
  }
`;

export const auditResolvers = { User: { auditLog: withInput(auditSelectionSchema, readAuditLog) } };
