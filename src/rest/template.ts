/** A path as logs have it: the words of our routes, and nothing that was made up by whoever sent it. */
const words: ReadonlySet<string> = new Set(
  ['api', 'bundles', 'capabilities', 'certificate', 'client', 'clients', 'deployment', 'deployments', 'device'].concat(
    ['devices', 'git', 'git-receive-pack', 'git-upload-pack', 'info', 'margo', 'onboarding', 'refs', 'reports', 'sbi'],
    ['status', 'v1'],
  ),
)
const mostParts = 12

/** Each device and each guess would be a line of its own, otherwise. */
export function templateOf(url: string): string {
  const cut = url.indexOf('?')
  const parts = url.slice(1, cut < 0 ? 2_048 : cut).split('/', mostParts)
  return `/${parts.map((part) => (words.has(part) || part === '' ? part : '{}')).join('/')}`
}
