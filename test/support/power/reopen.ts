/** What is recorded of a start after a power cut, in a process of its own. */
import { join } from 'node:path'
import { openDatabase } from '../../../src/store/open.ts'

const database = await openDatabase({ url: null, dataDir: join(process.env.POWER_ROOT ?? '', 'a', 'data') })
await database.close()
