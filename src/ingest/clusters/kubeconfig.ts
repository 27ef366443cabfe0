/** Addresses of clusters and our credentials for them, from kubeconfig files. The rules are those of kubectl. */
import type { KubeConfig } from '@kubernetes/client-node'

/** An error in a kubeconfig, for its owner. The message contains names and no secrets. */
export class KubeconfigError extends Error {}

/** `files` null: those of kubectl, or the service account of the pod. `context` null: the current one. */
export async function loadKubeconfig(files: readonly string[] | null, context: string | null): Promise<KubeConfig> {
  // The library loads every type of Kubernetes, which is slow. Only servers that watch clusters load it.
  const { KubeConfig } = await import('@kubernetes/client-node')
  const merged = new KubeConfig()
  if (files === null) merged.loadFromDefault()
  else merged.loadFromOptions(merge(files.map((file) => readFile(new KubeConfig(), file))))
  const names = merged.contexts.map(({ name }) => name)
  const wanted = context ?? merged.currentContext
  if (!names.includes(wanted))
    throw new KubeconfigError(
      context === null
        ? 'the kubeconfig has no current context: name one, as in provider+name=context'
        : `the kubeconfig has no context "${context}": it has ${names.join(', ') || 'none'}`,
    )
  merged.setCurrentContext(wanted)
  const cluster = merged.getCurrentCluster()
  if (!cluster) throw new KubeconfigError(`context "${wanted}" names a cluster that the kubeconfig does not have`)
  // No certificate has a name with a dot at the end.
  const server = URL.parse(cluster.server)
  if (server === null || !/^https?:$/.test(server.protocol) || server.hostname.endsWith('.'))
    throw new KubeconfigError(
      `the server of context "${wanted}" must be an http or https URL, and its host without a dot at the end`,
    )
  // kubectl accepts a plain http address. The library accepts it only with the option that skips certificate checks.
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true })
  return merged
}

function readFile(config: KubeConfig, file: string): KubeConfig {
  try {
    config.loadFromFile(file)
    return config
  } catch (error) {
    const { code } = error as { code?: unknown }
    // The message of a parser quotes the file.
    throw new KubeconfigError(`${file} cannot be read as a kubeconfig${typeof code === 'string' ? `: ${code}` : ''}`)
  }
}

/** If two entries have the same name, the first one applies. */
function merge(configs: readonly KubeConfig[]) {
  const first = <Named extends { readonly name: string }>(lists: readonly (readonly Named[])[]): Named[] => [
    ...new Map(
      lists
        .flat()
        .reverse()
        .map((item) => [item.name, item]),
    ).values(),
  ]
  return {
    clusters: first(configs.map(({ clusters }) => clusters)),
    users: first(configs.map(({ users }) => users)),
    contexts: first(configs.map(({ contexts }) => contexts)),
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext ?? '',
  }
}
