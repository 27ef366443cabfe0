/** `npm run openapi`: writes docs/openapi.yaml and docs/asyncapi.yaml. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../platform/installation.ts'
import { makeContracts } from './document.ts'

const contracts = await makeContracts()
for (const path of ['/openapi.yaml', '/asyncapi.yaml'])
  writeFileSync(join(root, 'docs', path), contracts.get(path) ?? '')
