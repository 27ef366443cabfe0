/**
 * Ends the process while a thread of it is blocked, for example by a file system that does not answer. `process.exit` would wait for that thread.
 * A new program in place of this one does not wait, and can end with any status. The alternative, a signal to itself, has the status of a
 * failure, and does nothing in the first process of a container.
 */
export function endAtOnce(status: number): void {
  // As process.exit does: what is written late, such as the log, is written now.
  process.emit('exit', status)
  try {
    // Windows has none.
    process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${status})`], {})
  } catch {
    // The program of this process is not there any more.
    endAsSignalled()
  }
  process.exit(status)
}

/** Ends the process, as SIGTERM ends one that does not handle it. In the first process of a container, this does nothing. */
export function endAsSignalled(): void {
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}
