/** The path of a request for the log: the words of known routes, without values that the client chose. */
const words: ReadonlySet<string> = new Set(
  ['api', 'bundles', 'capabilities', 'certificate', 'client', 'clients', 'deployment', 'deployments', 'device'].concat(
    ['devices', 'git', 'git-receive-pack', 'git-upload-pack', 'info', 'margo', 'onboarding', 'refs', 'reports', 'sbi'],
    ['status', 'v1'],
  ),
)
const mostParts = 12

/** Replaces variable parts. Otherwise each device and each guess would produce a line of its own. */
export function templateOf(url: string): string {
  const cut = url.indexOf('?')
  const parts = url.slice(1, cut < 0 ? 2_048 : cut).split('/', mostParts)
  return `/${parts.map((part) => (words.has(part) || part === '' ? part : '{}')).join('/')}`
}
