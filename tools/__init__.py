"""Programs that check and maintain this repository; none of them ships."""
