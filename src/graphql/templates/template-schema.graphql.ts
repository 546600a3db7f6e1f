export const templateSdl = /* GraphQL */ `
  type Query {
    "One template of the account; null when there is none of this id."
    podTemplate(id: String): PodTemplate
    "Templates of the account that are public."
    podTemplates(input: PodTemplateInput): [PodTemplate]
  }

  type Mutation {
    "No id creates, an id merges. A taken name gives TEMPLATE_NAME_TAKEN."
    saveTemplate(input: SaveTemplateInput): PodTemplate
    "By name. Refused with TEMPLATE_IN_USE while something uses it."
    deleteTemplate(templateName: String): Void
  }

  type User {
    "Without those that came inline with an endpoint."
    podTemplates: [PodTemplate]
  }

  input EnvironmentVariableInput {
    key: String
    value: String
  }
  type EnvironmentVariable {
    key: String
    value: String
  }

  enum TemplateCategory {
    CPU
    GPU
    NVIDIA
    AMD
  }

  input SaveTemplateInput {
    id: String
    name: String
    imageName: String
    containerDiskInGb: Int
    "0 for Serverless templates."
    volumeInGb: Int
    volumeMountPath: String
    dockerArgs: String
    env: [EnvironmentVariableInput]
    "Comma list of <port>/<protocol>; protocols: http, tcp."
    ports: String
    portsConfig: [PortConfigInput]
    readme: String
    isServerless: Boolean
    isPublic: Boolean
    containerRegistryAuthId: String
    startSsh: Boolean
    startJupyter: Boolean
    startScript: String
    advancedStart: Boolean
    config: JSON
    category: TemplateCategory
  }
  input PodTemplateInput {
    "true: only those that come with the service, of which there are none."
    isRunpod: Boolean
  }
  input PortConfigInput {
    port: String
    name: String
  }

  type PodTemplate {
    id: String
    name: String
    imageName: String
    containerDiskInGb: Int
    volumeInGb: Int
    volumeMountPath: String
    dockerArgs: String
    env: [EnvironmentVariable]
    ports: String
    portsConfig: [PortConfig]
    readme: String
    isServerless: Boolean
    isPublic: Boolean
    isRunpod: Boolean
    containerRegistryAuthId: String
    startSsh: Boolean
    startJupyter: Boolean
    startScript: String
    advancedStart: Boolean
    config: JSON
    category: TemplateCategory
  }
  type PortConfig {
    port: String
    name: String
  }
`;
