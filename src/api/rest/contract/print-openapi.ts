/** `npm run openapi`: writes docs/openapi.yaml. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../platform/installation.ts'
import { makeContracts } from './document.ts'

writeFileSync(join(root, 'docs/openapi.yaml'), (await makeContracts()).get('/openapi.yaml') ?? '')
