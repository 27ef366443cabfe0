/** The dialects that this server speaks. A new one is its folder and a line here. */
import type { Dialect } from './dialect.ts'
import { emco } from './emco/index.ts'
import { k8splugin } from './k8splugin/index.ts'

export const dialects: readonly Dialect[] = [emco, k8splugin]
