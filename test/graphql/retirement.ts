/** Mutations that retire devices and register them again. */

export const retireDocument = `mutation ($input: RetireDevicesInput!) { retireDevices(input: $input) {
  __typename
  ... on RetireDevicesSuccess { revision results { changed children deployments device { deviceId retirement { at reason replacedBy { deviceId } } } } }
  ... on UserError { message path }
} }`
export const registerDocument = `mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) {
  __typename ... on RegisterDevicesSuccess { results { token device { retirement { at } } } } ... on UserError { message path }
} }`
