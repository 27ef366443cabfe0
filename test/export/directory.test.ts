import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDirectory } from '../../src/api/export/archive/directory.ts'

const hour = 3_600_000

it('has no file in a directory that is there, and fails if the directory is not', async () => {
  const root = await mkdtemp(join(tmpdir(), 'rollcall-directory-'))
  expect(await createDirectory(root).get('changes/archived.json', 1e9)).toBeNull()
  await rm(root, { recursive: true })
  await expect(createDirectory(root).get('changes/archived.json', 1e9)).rejects.toMatchObject({
    code: 'ENOENT',
    path: root,
  })
})

it('removes the partial files of killed servers, and no others', async () => {
  const root = await mkdtemp(join(tmpdir(), 'rollcall-directory-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const folder = join(root, 'changes')
  await mkdir(folder)
  const partial = (n: number): string => `a.parquet.0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5${n}.tmp`
  const place = async (name: string, age: number): Promise<void> => {
    await writeFile(join(folder, name), 'a')
    const at = new Date(Date.now() - age)
    await utimes(join(folder, name), at, at)
  }
  await place(partial(1), 25 * hour)
  await place(partial(2), 23 * hour)
  await place('notes.tmp', 25 * hour)
  await place('b.parquet', 25 * hour)

  // One that cannot be removed does no harm.
  const folderInTheWay = join(folder, partial(0))
  await mkdir(folderInTheWay)
  await utimes(folderInTheWay, 0, 0)

  await createDirectory(root).put('changes/c.parquet', Buffer.from('c'))
  expect(new Set(await readdir(folder))).toEqual(
    new Set([partial(2), partial(0), 'notes.tmp', 'b.parquet', 'c.parquet']),
  )
})
