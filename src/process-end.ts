/**
 * Ends the process, as SIGTERM ends one that does not handle it. `process.exit` waits for every thread, and a file system that does not answer
 * blocks the thread that asked it. The first process of a container cannot end itself by a signal: there, this does nothing.
 */
export function endAsSignalled(): void {
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}
