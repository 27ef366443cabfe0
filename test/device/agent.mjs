// A device whose program is the test: it queues each line that it reads, and says what happens.
import { createInterface } from 'node:readline'
import { openDevice } from '../../src/apps/device/device.ts'

const [url, folder, maxBytes] = process.argv.slice(2)
const device = openDevice({
  url,
  folder,
  deviceId: 'press 7',
  maxBytes: Number(maxBytes),
  rejected: (report, answer) => console.log('rejected', report.status.error?.message, answer),
  interrupted: (reason) => console.log('interrupted', reason),
})
console.log('open')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'idle') {
    await device.idle()
    console.log('idle')
  } else if (line === 'pending') console.log('pending', device.pending())
  else
    try {
      const [deployment, ...body] = line.split(' ')
      const report = { ...JSON.parse(body.join(' ')), deploymentId: decodeURIComponent(deployment) }
      console.log('queued', device.report(report))
    } catch (error) {
      console.log('refused', error.message)
    }
}
await device.close()
console.log('closed')
