/** The folder of this process for repositories. It is created on first use and removed with the process. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'

interface Folder {
  path(): Promise<string>
  remove(): Promise<void>
}

const start = Math.round(performance.timeOrigin)

/** `within` null: the temporary folder of the system. */
export function createFolder(within: string | null): Folder {
  const parent = within ?? tmpdir()
  const ofHost = `rollcall-git-${hostname().replaceAll(/[^\w.-]/g, '_')}-`
  let made: Promise<string> | null = null

  async function make(): Promise<string> {
    await mkdir(parent, { recursive: true })
    for (const name of await readdir(parent)) {
      if (!name.startsWith(ofHost)) continue
      const [, pid, since] = /^(\d+)-(\d+)-/.exec(name.slice(ofHost.length)) ?? []
      if (pid && since && isLeftOver(Number(pid), Number(since)))
        await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined)
    }
    return mkdtemp(join(parent, `${ofHost}${process.pid}-${start}-`))
  }

  return {
    path() {
      made ??= make().catch((error: unknown) => {
        made = null
        throw error
      })
      return made
    },
    async remove() {
      const path = await made?.catch(() => null)
      if (path) await rm(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** The folder of a killed process. In a container, each new process has the same id. */
function isLeftOver(pid: number, since: number): boolean {
  if (pid === process.pid) return since !== start
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
