/** What the restricted Pod standard refuses of a pod, https://kubernetes.io/docs/concepts/security/pod-security-standards/, and a root file system that can be written. */

interface Context {
  readonly runAsNonRoot?: boolean
  readonly runAsUser?: number
  readonly privileged?: boolean
  readonly allowPrivilegeEscalation?: boolean
  readonly readOnlyRootFilesystem?: boolean
  readonly seccompProfile?: { readonly type: string }
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] }
}

export interface PodSpec {
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
  readonly automountServiceAccountToken?: boolean
  readonly securityContext?: Context
  readonly terminationGracePeriodSeconds?: number
  readonly volumes?: readonly Readonly<Record<string, unknown>>[]
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly securityContext?: Context
  readonly ports?: readonly { readonly name: string; readonly containerPort: number; readonly hostPort?: number }[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[]
  readonly resources: {
    readonly requests: Readonly<Record<string, string>>
    readonly limits: Readonly<Record<string, string>>
  }
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme?: string }
  readonly periodSeconds: number
  readonly timeoutSeconds: number
  readonly failureThreshold: number
}

const allowedVolumes = [
  'name',
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

export function violationsOf(pod: PodSpec): readonly string[] {
  const found: string[] = []
  const refuse = (condition: boolean | undefined, text: string): void => {
    if (condition) found.push(text)
  }
  const kinds = (pod.volumes ?? []).flatMap((volume) => Object.keys(volume))
  refuse(pod.hostNetwork || pod.hostPID || pod.hostIPC, 'namespaces of the host')
  refuse(
    kinds.some((kind) => !allowedVolumes.includes(kind)),
    'a volume of the host',
  )
  refuse(pod.automountServiceAccountToken !== false, 'a token for the API of Kubernetes')
  for (const { name, ports = [], securityContext: own = {} } of [...(pod.initContainers ?? []), ...pod.containers]) {
    const context = { ...pod.securityContext, ...own }
    refuse(context.privileged, `${name}: privileged`)
    refuse(context.allowPrivilegeEscalation !== false, `${name}: may gain privileges`)
    refuse(context.runAsNonRoot !== true || context.runAsUser === 0, `${name}: may be root`)
    refuse(context.seccompProfile?.type !== 'RuntimeDefault', `${name}: every system call`)
    refuse(
      context.capabilities?.drop?.includes('ALL') !== true || context.capabilities.add !== undefined,
      `${name}: capabilities`,
    )
    refuse(context.readOnlyRootFilesystem !== true, `${name}: writes to its image`)
    refuse(
      ports.some(({ hostPort }) => hostPort !== undefined),
      `${name}: a port of the host`,
    )
  }
  return found
}
