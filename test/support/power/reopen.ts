/** Opens a database after a cut, and ends without closing it: the power may go again meanwhile. */
import { join } from 'node:path'
import { openDatabase } from '../../../src/store/open.ts'

await openDatabase({ url: null, dataDir: join(process.env.POWER_ROOT ?? '', 'a', 'data') })
process.exit(0)
