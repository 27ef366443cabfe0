/** The topics of MQTT, below the first levels (MQTT_PREFIX). They are here, because the AsyncAPI document lists them, and api/mqtt/ is loaded only where MQTT_URL is set. */
export const topics = {
  report: '{deviceId}/deployments/{deploymentId}/status',
  connection: '{deviceId}/connection',
  answer: '{deviceId}/responses',
  deployment: 'present/deployments/{deploymentId}/{id}',
  rollout: 'present/rollouts/{id}',
  revision: 'present/revision',
  reading: 'present/read/{id}',
  change: 'changes/{kind}',
  reset: 'changes/reset',
} as const

export type Topic = keyof typeof topics

type LevelsOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | LevelsOf<Rest>
  : never

/** `levels`: encoded. */
export function topicOf<Name extends Topic>(
  prefix: string,
  name: Name,
  levels: Readonly<Record<LevelsOf<(typeof topics)[Name]>, string>>,
): string {
  const given: Readonly<Record<string, string>> = levels
  return `${prefix}/${topics[name].replaceAll(/\{(\w+)\}/g, (_, level) => given[level] ?? '')}`
}
