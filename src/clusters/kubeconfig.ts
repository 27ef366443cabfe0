/** Where clusters are and who we are there: kubectl's own files, read as kubectl reads them. */
import type { KubeConfig } from '@kubernetes/client-node'

/** What is wrong with a kubeconfig, for its owner: names, and nothing that is secret. */
export class KubeconfigError extends Error {}

/** `files` null: those that kubectl would take, or what a pod is given. `context` null: the current one. */
export async function loadKubeconfig(files: readonly string[] | null, context: string | null): Promise<KubeConfig> {
  // The library loads every type of Kubernetes, which takes long: only servers that watch clusters load it.
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
  if (!cluster) throw new KubeconfigError(`context "${wanted}" names a cluster that is not there`)
  // kubectl accepts a plain address. The library needs the option that there is no certificate to check.
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true })
  return merged
}

function readFile(config: KubeConfig, file: string): KubeConfig {
  try {
    config.loadFromFile(file)
    return config
  } catch (error) {
    const { code } = error as { code?: unknown }
    // What a parser says quotes the file.
    throw new KubeconfigError(`${file} cannot be read as a kubeconfig${typeof code === 'string' ? `: ${code}` : ''}`)
  }
}

/** Of things with the same name the first one counts. */
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
