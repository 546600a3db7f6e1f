export const accountSdl = /* GraphQL */ `
  type Query {
    "The account of the calling key."
    myself: User
  }

  type User {
    id: ID
    email: String
    "Always null: who owns the hosts gets no discount."
    serverlessDiscount: ServerlessDiscount
  }

  type ServerlessDiscount {
    userId: String
    discountFactor: Float
    type: String
    expirationDate: DateTime
  }
`;
