/** A share of a core for one process, as if it had a slower core of its own: by a Linux control group. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Microseconds in which a process may use its share. */
const period = 10_000

/** `folder`: of the CPU controller, version 1 or 2. The result removes the group after the process has ended. */
export function limitShare(folder: string, pid: number, share: number): () => void {
  const group = join(folder, `rollcall-bench-${pid}`)
  mkdirSync(group)
  const write = (file: string, text: string): void => writeFileSync(join(group, file), text)
  const quota = Math.round(share * period)
  if (existsSync(join(group, 'cpu.max'))) write('cpu.max', `${quota} ${period}`)
  else {
    write('cpu.cfs_period_us', String(period))
    write('cpu.cfs_quota_us', String(quota))
  }
  write('cgroup.procs', String(pid))
  return () => rmdirSync(group)
}
