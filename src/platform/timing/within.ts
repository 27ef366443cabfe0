/** Waits at most so many milliseconds for work. False: the work continues afterwards. */
export function within(time: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), time)
  })
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer))
}
