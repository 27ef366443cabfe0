/** Waits at most so many milliseconds for work. The work continues afterwards. */
export function within(time: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, time)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
