export const loginSdl = /* GraphQL */ `
  type Query {
    "What has become of a login, to whoever knows its id; needs no key."
    flashAuthRequestStatus(flashAuthRequestId: String): FlashAuthRequest
  }

  type Mutation {
    "Opens a login for a client, which sends its person to /flash/login?request=<id>; needs no key."
    createFlashAuthRequest: FlashAuthRequest
    "Approves a login, whose client then gets a new key with the permissions of this one, or denies it."
    approveFlashAuthRequest(input: ApproveFlashAuthRequestInput): FlashAuthRequest
  }

  type FlashAuthRequest {
    "Whoever knows it gets the key."
    id: String
    "PENDING, APPROVED, CONSUMED, DENIED or EXPIRED."
    status: String
    expiresAt: DateTime
    "What the client says it is: its User-Agent."
    client: String
    "Of an approved login, shown once: from then on it is CONSUMED."
    apiKey: String
  }
  input ApproveFlashAuthRequestInput {
    flashAuthRequestId: String
    "False denies it; true makes a key for the client."
    isApproved: Boolean
  }
`;
