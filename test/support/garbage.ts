/** V8's garbage collection on demand. `minor`: of young objects only. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
