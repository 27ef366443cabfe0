/** The first parts of the addresses of pages. No route of the API that is read by GET begins with one of them. */
export const pageNames = [
  'rollouts',
  'rollout',
  'deployments',
  'deployment',
  'devices',
  'device',
  'resources',
  'resource',
  'node',
  'feed',
  'setup',
] as const
