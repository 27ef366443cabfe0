/** Two machines with a network of their own on this one, and a cable between them that can be cut. Their addresses reach nothing else. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import type { Place } from './patroni.ts'

export interface Machines {
  readonly places: readonly [Place, Place]
  /** The addresses at which this machine reaches them, cut or not. */
  readonly reached: readonly [string, string]
  cut(): void
  mend(): void
  dispose(): void
}

/** Whether this machine lets a test make networks. */
export const canNetwork = (): boolean => spawnSync('unshare', ['--net', 'ip', 'link'], { stdio: 'ignore' }).status === 0

export function startMachines(): Machines {
  const id = randomInt(1, 250)
  const names = [`rollcall-${id}-a`, `rollcall-${id}-b`] as const
  const of = (index: 0 | 1) => ({
    name: names[index],
    address: `10.77.${id}.${index + 1}`,
    reached: `10.78.${id}.${index * 4 + 2}`,
    gateway: `10.78.${id}.${index * 4 + 1}`,
    prefix: ['ip', 'netns', 'exec', names[index]],
  })
  const machines = [of(0), of(1)] as const
  for (const { name } of machines) ip(`netns add ${name}`)
  ip(`link add cable netns ${names[0]} type veth peer name cable netns ${names[1]}`)
  for (const [index, { name, address, reached, gateway }] of machines.entries()) {
    const outside = `rc${id}-${index}`
    ip(`link add ${outside} type veth peer name door netns ${name}`)
    ip(`addr add ${gateway}/30 dev ${outside}`)
    ip(`link set ${outside} up`)
    ip(`-n ${name} addr add ${reached}/30 dev door`)
    ip(`-n ${name} addr add ${address}/24 dev cable`)
    for (const link of ['lo', 'door', 'cable']) ip(`-n ${name} link set ${link} up`)
    ip(`route add ${address} via ${reached}`)
  }
  // Without ARP packets go to an address of the link that is not the other's: they vanish, as on a cut cable behind a switch.
  const turn = (arp: 'on' | 'off'): void => {
    for (const name of names) {
      ip(`-n ${name} link set cable arp ${arp}`)
      ip(`-n ${name} neigh flush dev cable`)
    }
  }
  return {
    places: [machines[0], machines[1]],
    reached: [machines[0].reached, machines[1].reached],
    cut: () => turn('off'),
    mend: () => turn('on'),
    // Its links go with a network, and with them their other ends.
    dispose() {
      for (const name of names) ip(`netns delete ${name}`)
    },
  }
}

function ip(command: string): void {
  execFileSync('ip', command.split(' '))
}
