/** For `node --import`: the program's timers, and those of Node's fetch, end a thousand times sooner. It says when an hour has passed. */
const { setTimeout: set } = globalThis

globalThis.setTimeout = (callback, time = 0, ...args) => set(callback, time / 1_000, ...args)
set(() => console.error('an hour has passed'), 3_600)
