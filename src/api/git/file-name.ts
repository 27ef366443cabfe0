/**
 * The file name of a deployment. An id is any text, but the name must be valid on every system that clones. Some systems ignore case
 * (Windows, macOS) or reserve names (`CON`), and Git reserves `.git`. Most ids are valid names. Any other id becomes its readable part, "~"
 * and its hash. No valid id contains "~", so the two forms cannot collide.
 */
import { createHash } from 'node:crypto'

const plain = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/
const longestSlug = 60

export function fileOf(deploymentId: string): string {
  return `deployments/${plain.test(deploymentId) ? deploymentId : hashed(deploymentId)}.yaml`
}

function hashed(deploymentId: string): string {
  const slug = deploymentId.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestSlug)
  return `${slug}~${createHash('sha256').update(deploymentId).digest('hex').slice(0, 32)}`
}
