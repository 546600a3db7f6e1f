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
    "Without =; of equal ones the last counts."
    key: String
    "May hold {{ SECRET_name }}, in whose place the worker gets the value of that secret."
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
    "Absent to create, present to change."
    id: String
    "Unique in the account, up to 191 characters."
    name: String
    "Image reference with tag (latest when it has none), such as ghcr.io/acme/worker:1.4; not looked up when it is saved."
    imageName: String
    "GB of the container's disk."
    containerDiskInGb: Int
    "GB of the volume of a pod; 0 for Serverless templates."
    volumeInGb: Int
    "Begins with /."
    volumeMountPath: String
    "Arguments after the entry point of the image."
    dockerArgs: String
    "At most 50 variables; they take the place of those before."
    env: [EnvironmentVariableInput]
    "Comma list of <port>/<protocol>; protocols: http, tcp."
    ports: String
    "Names for ports."
    portsConfig: [PortConfigInput]
    "Markdown."
    readme: String
    "true for endpoints, false for pods."
    isServerless: Boolean
    "Listed by podTemplates."
    isPublic: Boolean
    "A registry credential, for a private image; empty for none."
    containerRegistryAuthId: String
    "Kept for pods, as the fields below."
    startSsh: Boolean
    startJupyter: Boolean
    startScript: String
    advancedStart: Boolean
    config: JSON
    "For lists; has no effect."
    category: TemplateCategory
  }
  input PodTemplateInput {
    "true: only those that come with the service, of which there are none."
    isRunpod: Boolean
  }
  input PortConfigInput {
    "<port>/<protocol>, as in ports."
    port: String
    "For people: what answers there."
    name: String
  }

  type PodTemplate {
    id: String
    name: String
    "Image reference with tag."
    imageName: String
    containerDiskInGb: Int
    volumeInGb: Int
    volumeMountPath: String
    "Arguments after the entry point of the image."
    dockerArgs: String
    env: [EnvironmentVariable]
    "Comma list of <port>/<protocol>."
    ports: String
    portsConfig: [PortConfig]
    "Markdown."
    readme: String
    isServerless: Boolean
    isPublic: Boolean
    "Always false: no templates come with the service."
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
