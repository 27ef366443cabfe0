/** Mutations that retire devices, reinstate them and register them again. */

export const reinstateDocument = `mutation ($input: ReinstateDevicesInput!) { reinstateDevices(input: $input) {
  __typename ... on ReinstateDevicesSuccess { results { token device { deviceId retirement { at } } } }
  ... on InvalidInput { problems { path } } ... on UserError { message path }
} }`

export const retireDocument = `mutation ($input: RetireDevicesInput!) { retireDevices(input: $input) {
  __typename
  ... on RetireDevicesSuccess { revision results { changed children deployments device { deviceId retirement { at reason replacedBy { deviceId } } } } }
  ... on UserError { message path }
} }`
export const registerDocument = `mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) {
  __typename ... on RegisterDevicesSuccess { results { token device { retirement { at } } } } ... on UserError { message path }
} }`
