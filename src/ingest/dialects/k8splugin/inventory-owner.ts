/** so-cnf-adapter's call that states which A&AI objects own an instance (docs/wire.md §4). */
import { complain, isAbsent, isObject, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import { idProblem, readId, urlProblem } from '../../../platform/body/text.ts'
import type { InventoryPlace } from '../dialect.ts'

export function parseInventoryOwner(
  body: unknown,
  refuseUrl: (url: string) => string | null,
): InventoryPlace & { readonly instanceId: string } {
  const problems: Problems = { list: null }
  if (!isObject(body))
    throw refusal([{ field: 'body', message: `must be an object, but is ${shown(body)}` }], 'The request')
  const required = (field: string): string => readId(problems, field, body[field]) ?? ''
  const optional = (field: string, problemOf = idProblem): string | null =>
    isAbsent(body[field]) || body[field] === '' ? null : readId(problems, field, body[field], problemOf)
  const callbackUrl = optional('callbackUrl', urlProblem)
  const refused = callbackUrl === null ? null : refuseUrl(callbackUrl)
  if (refused) complain(problems, 'callbackUrl', refused)
  const belonging = {
    instanceId: required('instanceId'),
    cloudOwner: required('cloudOwner'),
    cloudRegion: required('cloudRegion'),
    tenantId: required('tenantId'),
    genericVnfId: optional('genericVnfId'),
    vfModuleId: optional('vfModuleId'),
    callbackUrl,
  }
  if (belonging.vfModuleId !== null && belonging.genericVnfId === null)
    complain(problems, 'genericVnfId', 'is needed to find the vf-module')
  if (problems.list) throw refusal(problems.list, 'The request')
  return belonging
}
