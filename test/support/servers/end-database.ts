/** A program whose embedded database ends when a test says so. */

/** For --import: ends the thread of the embedded database when the process gets a SIGUSR2. */
export const endDatabase = `data:text/javascript,${encodeURIComponent(`
  import threads from 'node:worker_threads'
  import { syncBuiltinESMExports } from 'node:module'
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(file, options) {
      super(file, options)
      if (String(file).includes('pglite-worker')) process.on('SIGUSR2', () => this.terminate())
    }
  }
  syncBuiltinESMExports()`)}`
