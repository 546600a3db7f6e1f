export const hostSdl = /* GraphQL */ `
  type Mutation {
    "Makes a token with which one host can join; it is shown this once."
    joinTokenCreate(input: JoinTokenCreateInput): JoinToken
  }

  input JoinTokenCreateInput {
    "What the token is for."
    name: String
    "60 to 604800; 3600 by default."
    expiresInSeconds: Int
  }
  type JoinToken {
    token: String
    expiresAt: DateTime
  }
`;
