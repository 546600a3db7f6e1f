export const encryptionSdl = /* GraphQL */ `
  type User {
    "For the operator who changes the key of the installation: null for every key but ROOT_API_KEY, since it counts over all accounts."
    encryption: Encryption
  }

  type Encryption {
    "Of the key under which everything new is sealed: the first of ENCRYPTION_KEYS."
    keyId: String
    "Texts of the whole installation that an older key seals, or none. At 0 the older keys may go."
    sealedUnderOlderKeys: Int
  }
`;
