//! Azure's locations. A collection may be in any location, and these have a display name.

/// The display names of the locations in which the original ran, in the order in which it last
/// listed them.
pub const AZURE_LOCATIONS: [&str; 25] = [
    "North Central US",
    "South Central US",
    "North Europe",
    "West Europe",
    "East Asia",
    "Southeast Asia",
    "West US",
    "East US",
    "Japan West",
    "Japan East",
    "Brazil South",
    "Central US",
    "East US 2",
    "Australia East",
    "Australia Southeast",
    "Canada Central",
    "Canada East",
    "West US 2",
    "West Central US",
    "UK South",
    "UK West",
    "East US 2 EUAP",
    "Central US EUAP",
    "Korea Central",
    "Korea South",
];

/// The display name of a location of Azure's, which a request may name in its short form; any other
/// location unchanged.
///
/// ```
/// use minutehand_domain::location::display_name;
///
/// assert_eq!(display_name("southcentralus"), "South Central US");
/// assert_eq!(display_name("eu-west-1"), "eu-west-1");
/// ```
#[must_use]
pub fn display_name(location: &str) -> &str {
    let short = |text: &str| text.replace(' ', "").to_ascii_lowercase();
    let wanted = short(location);
    AZURE_LOCATIONS.into_iter().find(|known| short(known) == wanted).unwrap_or(location)
}
