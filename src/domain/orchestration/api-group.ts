/** The kinds that Kubernetes moved from the group `extensions`. It serves each of their objects in both groups. */
const movedFromExtensions: Readonly<Record<string, string>> = {
  DaemonSet: 'apps',
  Deployment: 'apps',
  ReplicaSet: 'apps',
  Ingress: 'networking.k8s.io',
  NetworkPolicy: 'networking.k8s.io',
}

/** The group of today. An orchestrator may apply an object in the former one, while the cluster shows it in this one, or the reverse. */
export function presentGroup(group: string, kind: string): string {
  return (group === 'extensions' && Object.hasOwn(movedFromExtensions, kind) && movedFromExtensions[kind]) || group
}
